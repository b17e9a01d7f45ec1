"""The files of methods of one's own, kept in a fleet's folder: whoever opens it may follow them."""

from contextlib import closing
from pathlib import Path

from paofed.algorithms.admitted import admit_kept, admitted
from paofed.files import file_digest, make_folder, replacing
from paofed.live.journal.store import Store
from paofed.live.protocol.manifest import Manifest

METHODS = "methods"


def keep_method(folder: Path, manifest: Manifest) -> None:
    """Put the file of a manifest's method into a fleet's folder, unless the method is paofed's."""
    if manifest.code is None:
        return
    method = admitted(manifest.algorithm, manifest.code)
    path = folder / METHODS / method.kept_as
    if not path.exists() or file_digest(path) != method.code:
        content = method.file.read_bytes()
        make_folder(path.parent)
        with replacing(path) as file:
            file.write(content)


def opened(folder: Path, *, to_repair: bool = False) -> closing[Store]:
    """Open a fleet's store, which is closed when the block ends; its methods may be followed."""
    admit_kept(folder / METHODS)
    return closing(Store.open(folder, to_repair=to_repair))

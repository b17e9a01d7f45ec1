"""`python -m paofed` is `paofed`."""

from paofed.cli import main

raise SystemExit(main())

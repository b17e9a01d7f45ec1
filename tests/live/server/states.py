"""What a server says of itself and of a device when nothing is the matter, to be changed."""

from paofed.live.server.status import DeviceStatus, ServiceStatus

SERVICE = ServiceStatus(
    seconds=500.0,
    problems=(),
    dropped=0,
    clock_jumps=0,
    bytes_received=10,
    bytes_sent=20,
    broker_refused={},
    started=0.0,
    connected=True,
    stuck=False,
    validation=None,
    clock_behind=0.0,
    snapshot_at=None,
    counts={},
    ages={},
)
DEVICE = DeviceStatus(
    device=0,
    label="north",
    standing="member",
    last_seen=40,
    messages=9,
    refused_in_a_row=0,
    refused=0,
    left_out=0,
    implausible=0,
    error=None,
    usual_gap=1.0,
    faults=(),
    last_update=None,
    silent_after=None,
    refused_why="",
    reads_only=False,
    trusted=False,
)

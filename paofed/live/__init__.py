"""The same rules over a network.

The protocol: what travels (`messages`, `manifest`), and the server and the device as state machines
without sockets, clocks or disks (`coordinator` with its `devices`, `edge`). The order in which a
server touches disk and network (`host`).

The journal: one SQLite file (`database`) with the fleet's `members`, two snapshots of its model and
the updates since the older one (`store`); what can be taken out of it (`exports`); what a device
keeps through a power cut (`state`).

Its rehearsal: whole federations with every fault in one process (`rehearsal`, `auditor`).

The network: a connection that comes back (`mqtt`), names and topics at the broker (`topics`), what
proves who one is (`credential`), the device for applications (`device`, `footprint`); the server at
work (`service`, `clock`, `status`, `monitor`, `broker_log`).

The fleet's folder: `settings`, `authority`, `broker`, and what is done with them (`folder`); broker
and server as processes on this machine (`processes`).
"""

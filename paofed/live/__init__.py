"""The same rules over a network.

The protocol, without sockets, clocks or disks: what travels (`messages`, `manifest`), the server
and the device as state machines (`coordinator` with its `devices`, `edge`), and the order in which
a server touches disk and network (`host`).

The journal: one SQLite file (`database`) with the fleet's `members` and all that its model is made
of (`store`); what can be taken out of it (`exports`); what a device keeps through a power cut
(`state`).

Its rehearsal: whole federations with every fault in one process (`rehearsal`, `auditor`).

The network: a connection that comes back (`mqtt`), what proves who one is (`credential`), the
device for applications (`device`, `footprint`); the server at work (`service`, `clock`, `status`,
`monitor`, `broker_log`).

The fleet's folder: `settings`, `authority`, `broker`, and what is done with them (`folder`); broker
and server as processes on this machine (`processes`).
"""

"""The simulator's rules over a network.

`protocol`: what travels, and the server and the device as state machines without sockets, clocks or
disks. `model`: the model outside the fleet, and predictions by it. `journal`: the server's memory
on disk, and the order in which disk and network are used. `network`: connections, topics,
credentials. `device`: the device for applications. `gateway`: telemetry of others as devices.
`fleet`: the fleet's folder and its broker's files. `server`: the server at work. `operations`:
files for monitoring and services.
"""

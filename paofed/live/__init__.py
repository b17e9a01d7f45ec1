"""The same rules over a network: server and device as state machines, a journal, a wire format."""

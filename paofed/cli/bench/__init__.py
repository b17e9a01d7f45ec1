"""Measure on this machine what the documents say."""

ACTIONS = {
    "engines": "the simulator's engines side by side, and how they scale",
    "gpu": "the gpu engine beside JAX, the processor, and what the card could do at best",
    "spread": "what a store and an executor cost beside a plain run, and the client's memory",
    "table": "a run over a table of readings: time by stage, memory",
    "tables": "the recommended setting beside every baseline, table by table",
    "contact": "what a live contact costs server and device, without a network",
    "wire": "bytes of a contact, counted on the wire",
    "load": "contacts per second with thousands of devices, latency, memory, reconnection",
    "gateway": "hundreds of sources in one gateway: processor, memory, what was learned",
    "predict": "predictions per second over HTTP, while contacts go on",
    "intervals": "how often intervals around predictions held what was measured",
}
EXAMPLE = "paofed bench wire"

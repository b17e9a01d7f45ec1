"""What a checkout of paofed can do beside the product: rehearse, compare, measure."""

from paofed.cli.program import Program

LAB = Program(
    name="python -m lab",
    package="lab.commands",
    groups={
        "on trial": {
            "chaos": "rehearse a fleet's disasters",
            "compare": "compare methods at equal bytes, each with its best settings",
            "interpretations": "judge the paper's disputed statements under every interpretation",
        },
        "measured on this machine": {
            "engines": "the simulator's engines side by side, and how they scale",
            "gpu": "the gpu engine beside JAX, the processor, and what the card could do at best",
            "spread": "what a store and an executor cost beside a plain run, and the client's "
            "memory",
            "table": "a run over a table of readings: time by stage, memory",
            "tables": "the recommended setting beside every baseline, table by table",
            "labels": "what contacts are worth where labels are rare, late or missing",
            "goals": "in how many of these cases a method reached what was asked of it",
            "contact": "what a live contact costs server and device, without a network",
            "wire": "bytes of a contact, counted on the wire",
            "load": "contacts per second with thousands of devices, latency, memory, reconnection",
            "gateway": "hundreds of sources in one gateway: processor, memory, what was learned",
            "predict": "predictions per second over HTTP, while contacts go on",
            "intervals": "how often intervals around predictions held what was measured",
        },
    },
    example="python -m lab chaos --seeds 300",
    extras={
        "gateway": "fleet",
        "gpu": "sim,gpu",
        "labels": "sim,table",
        "load": "fleet",
        "predict": "fleet",
        "table": "sim,table",
        "tables": "sim,table",
        "wire": "fleet",
    },
)
main = LAB.main

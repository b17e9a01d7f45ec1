"""Learn one model from a fleet of unreliable devices: simulate it first, then let it learn."""

# One file per verb: each parses, calls the library and prints.

from paofed.cli.program import Program

PAOFED = Program(
    name="paofed",
    package="paofed.cli",
    groups={
        "simulate": {
            "run": "run algorithms over a scenario, many times",
            "sweep": "run methods with many settings over the same worlds, and find the best",
            "plan": "find settings for a fleet and its bytes",
            "theory": "say before any run which step sizes are safe and what to expect",
            "scenario": "list the scenarios there are; show, check or copy one",
            "trace": "realise one run of a scenario as a trace file",
            "replay": "run one algorithm over a recorded trace",
            "result": "show a saved result, as a table, CSV or figure",
            "algorithms": "list the algorithms",
            "reproduce": "run the paper's settings and draw what they show",
        },
        "fleets": {
            "fleet": "set up, serve and look after a fleet",
            "device": "be a device of a fleet",
            "gateway": "take part for devices that publish telemetry and cannot run Python",
            "predict": "predict with a fleet's model",
            "demo": "see a fleet learn on this machine while its parts are killed",
        },
    },
    example="paofed run setting-1 --runs 4",
    extras={
        "fleet": "fleet",
        "device": "device",
        "gateway": "device",
        "demo": "sim,fleet,demo",
    },
)
main = PAOFED.main

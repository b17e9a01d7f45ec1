"""Set up, serve and look after a fleet."""

ACTIONS = {
    "init": "make a fleet's folder: settings, certificates, what the broker needs",
    "add": "add devices; writes one file for each, to put on it",
    "gateway": "add a gateway, which takes part for devices that cannot",
    "serve": "run the server",
    "status": "show devices, how late updates come, what is refused, bytes",
    "page": "write a page that shows all of it, as one file",
    "change": "change what the fleet agrees on: step size, tick, shared, inputs, ...",
    "firmware": "note which devices run firmware in C, and cannot follow every change",
    "clock": "say whether ticks go with the clock, and let them after it was wrong",
    "rotate": "give devices, or server and broker, new credentials",
    "remove": "let a device leave for good",
    "quarantine": "refuse what a device sends, or no longer",
    "trust": "never set a device aside that lies far outside, or again",
    "token": "say who may ask the server over HTTP",
    "verify": "recompute the model from the journal and compare",
    "model": "write the model, for predictions",
    "export": "write the messages the model was made from",
    "rollback": "go back to the model of an earlier time",
    "without": "replay what the others sent, without some devices",
    "backup": "write the whole fleet to one file",
    "restore": "make a fleet's folder of such a file",
    "repair": "go on from what is intact, after damage",
    "monitoring": "write what Prometheus and Grafana need: alerts, a dashboard",
    "units": "write services for systemd: server, broker, device, gateway",
}
EXAMPLE = "paofed fleet init greenhouse --input temperature:20:10 --target load:300:100"

# The module of an action that has none of its own, with those beside which people look for it.
HOMES = {
    **dict.fromkeys(("add", "gateway", "token", "units", "monitoring"), "set_up"),
    **dict.fromkeys(("serve", "backup", "model", "export"), "run"),
    **dict.fromkeys(("status", "page", "verify"), "watch"),
    **dict.fromkeys(("change", "firmware", "rotate", "trust", "remove"), "change"),
    **dict.fromkeys(("clock", "quarantine", "without", "rollback", "restore", "repair"), "repair"),
}

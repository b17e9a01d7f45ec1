"""Set up, serve and look after a fleet."""

ACTIONS = {
    "set up": {
        "init": "make a fleet's folder: settings, certificates, what the broker needs",
        "add": "add devices; writes one file for each, to put on it",
        "gateway": "add a gateway, which takes part for devices that cannot",
        "token": "say who may ask the server over HTTP",
        "services": "write services for systemd: server, broker, device, gateway",
        "monitoring": "write what Prometheus and Grafana need: alerts, a dashboard",
    },
    "run": {
        "serve": "run the server",
        "backup": "write the whole fleet to one file",
        "model": "write the model, for predictions",
        "export": "write the messages the model was made from",
    },
    "watch": {
        "status": "show devices, how late updates come, what is refused, bytes",
        "page": "write a page that shows all of it, as one file",
        "verify": "recompute the model from the journal and compare",
    },
    "change": {
        "change": "change what the fleet agrees on: step size, tick, shared, inputs, ...",
        "firmware": "note which devices run firmware in C, and cannot follow every change",
        "rotate": "give devices, or server and broker, new credentials",
        "trust": "never set a device aside that lies far outside, or again",
        "remove": "let a device leave for good",
    },
    "repair": {
        "clock": "say whether ticks go with the clock, and let them after it was wrong",
        "quarantine": "refuse what a device sends, or no longer",
        "without": "replay what the others sent, without some devices",
        "rollback": "go back to the model of an earlier time",
        "restore": "make a fleet's folder of a backup",
        "repair": "go on from what is intact, after damage",
    },
}
EXAMPLE = "paofed fleet init greenhouse --input temperature:20:10 --target load:300:100"

# The module of an action: all but the longest stand beside the others of their group.
HOMES = {
    action: title.replace(" ", "_")
    for title, actions in ACTIONS.items()
    for action in actions
    if action != "init"
}

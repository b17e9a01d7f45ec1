// One device in words, or those that somebody should look at.

const worstOf = (row) =>
  row[FIELD.faults].map(([kind]) => OF_TROUBLE[kind])
    .sort((a, b) => STATES.indexOf(b) - STATES.indexOf(a))[0] ?? "nothing";

const showDetails = () => {
  const row = fleet.devices.find((one) => one[FIELD.device] === chosen);
  byId("details").replaceChildren(...(row ? detailsOf(row) : troubled()));
};

const troubled = () => {
  const found = present().filter(isTroubled);
  if (!found.length) return [node("p", "Point at a device, or choose one.", { className: "note" })];
  found.sort((a, b) => STATES.indexOf(worstOf(b)) - STATES.indexOf(worstOf(a)));
  const named = found.slice(0, MOST_NAMED).map((row) => {
    const fault = row[FIELD.faults][0];
    const says = fault ? `${fault[2]}, for ${duration(fleet.now - timeOf(fault[1]))}` : "is quarantined";
    const button = node("button", [node("span", [dotOf(worstOf(row)), nameOf(row)], { className: "named" }), node("small", says)]);
    button.addEventListener("click", () => choose(row[FIELD.device]));
    return node("li", button);
  });
  const more = found.length - named.length;
  const rest = more > 0 ? [node("p", `and ${whole(more)} more`, { className: "note" })] : [];
  return [node("h3", "To be looked at"), node("ul", named), ...rest];
};

const detailsOf = (row) => {
  const its = device(row);
  const close = node("button", "close", { className: "close" });
  close.addEventListener("click", () => choose(null));
  const faults = its.faults.map(([kind, since, words]) => {
    const told = node("p", `${words}, since ${moment(timeOf(since))}`, { className: "fault" });
    told.style.borderColor = `var(--${OF_TROUBLE[kind]})`;
    return told;
  });
  const list = node("dl", facts(its).flatMap(([name, text]) => [node("dt", name), node("dd", text)]));
  return [close, node("h3", nameOf(row)), ...faults, list];
};

const facts = (its) => [
  ["index", String(its.device)],
  ["standing", its.reads_only ? `${its.standing}, reads only: it has no targets` : its.standing],
  ["last heard", its.last_seen === null ? "never" : ago(its.last_seen)],
  ["last accepted", its.last_update === null ? "no update yet" : `the update of ${ago(its.last_update)}`],
  ["usual gap", its.usual_gap === null ? "not known yet" : ticks(its.usual_gap)],
  ["silent", its.silent_after === null ? "not said before 8 contacts" : `after ${ticks(its.silent_after)}, by its habit`],
  ["error", its.error === null ? "not said" : `${errorOf(its.error)}${fleet.scale === null ? "" : `, ${decibels(its.error)}`}`],
  ["messages", whole(its.messages)],
  ["refused", its.refused ? `${whole(its.refused)}, the last: ${its.refused_why || "for a reason of another version"}` : "none"],
  ["left out", its.left_out ? `${counted(its.left_out, "update")}, while aside` : "none"],
  ["implausible", its.implausible ? counted(its.implausible, "contact") : "none"],
];

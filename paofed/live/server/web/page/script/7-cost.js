// Contacts and bytes by hour and day, how late updates come, what is refused.

const HOUR = 3600, SHOWN_HOURS = 48;
const BYTES = (row) => row[1] + row[2], CONTACTS = (row) => row[0];

// [time, row, whether all of it was counted]: the hours, and days as the browser's clock has them.
const byHour = () => {
  const last = Math.floor(fleet.now / HOUR);
  const begin = Math.max(last - SHOWN_HOURS + 1, hours.first);
  return hours.rows.slice(Math.max(begin - hours.first, 0)).map((row, n) =>
    [(begin + n) * HOUR, row, (begin + n) * HOUR >= fleet.counted_from - HOUR]);
};
const byDay = () => {
  const days = new Map();
  hours.rows.forEach((row, n) => {
    const time = (hours.first + n) * HOUR, key = day(time);
    const [begin, sum, exact] = days.get(key) ?? [time, [0, 0, 0], true];
    days.set(key, [begin, sum.map((x, k) => x + row[k]), exact && time >= fleet.counted_from - HOUR]);
  });
  return [...days.values()];
};

const drawBars = (id, items, value, text, name, budget = 0) => {
  const { pen, width, height } = surface(id, 120);
  const left = GUTTER + 10, right = width - 4, top = 10, bottom = height - BELOW;
  const most = Math.max(...items.map((item) => value(item[1])), budget * 1.05, 1);
  const y = (number) => bottom - (number / most) * (bottom - top);
  valueAxis(pen, steps(0, most, 3), y, left, right, text);
  const room = Math.min((right - left) / Math.max(items.length, 1), 40);
  items.forEach(([, row, exact], n) => {
    pen.fillStyle = colour(exact ? "accent" : "computed");
    pen.fillRect(left + n * room, y(value(row)), Math.max(room - 1, 1), bottom - y(value(row)));
  });
  if (budget) line(pen, [[left, y(budget)], [right, y(budget)]], colour("problem"), [5, 4]);
  pen.textAlign = "left";
  pen.fillStyle = colour("soft");
  const apart = Math.ceil(64 / room);
  for (let n = 0; n < items.length; n += apart) {
    const x = left + n * room;
    if (x + 36 < right || n === 0) pen.fillText(name(items[n][0]), x, height - 5);
  }
};

const latest = (count) => hours.rows.slice(-count).reduce((sum, row) => sum.map((x, n) => x + row[n]), [0, 0, 0]);

// What a device costs: in a day, by the last whole hours, or so far where there is none of them yet. The
// first hour does not count, since in it devices join, and each gets the whole model.
const costOfDevice = () => {
  const members = Math.max(present().filter((row) => row[FIELD.standing] !== "quarantined").length, 1);
  const whole = hours.rows.slice(1, -1).slice(-24);
  const all = (rows) => rows.reduce((sum, row) => sum + BYTES(row), 0);
  return whole.length
    ? { bytes: (all(whole) * 24) / whole.length / members, per: "for a device and day" }
    : { bytes: all(hours.rows) / members, per: "for a device so far" };
};

const drawCost = () => {
  const all = fleet.budget * present().length, inHours = byHour(), inDays = byDay();
  const number = (n) => (n >= 10000 ? `${n / 1000}k` : String(n));
  drawBars("contact-hours", inHours, CONTACTS, number, (t) => clock(t));
  drawBars("contact-days", inDays, CONTACTS, number, (t) => day(t).slice(5));
  drawBars("byte-hours", inHours, BYTES, bytes, (t) => clock(t), all / 24);
  drawBars("byte-days", inDays, BYTES, bytes, (t) => day(t).slice(5), all);
  const cost = costOfDevice(), budget = `its budget of ${bytes(fleet.budget)} a day (red)`;
  const share = cost.per.endsWith("day") ? `, ${Math.round((100 * cost.bytes) / fleet.budget)} % of ` : "; ";
  byId("cost").textContent = `${bytes(cost.bytes)} ${cost.per}` + (fleet.budget ? share + budget : "; no budget is set");
  byId("counted").textContent = "MQTT messages in both directions, without TCP/IP. Before " +
    `${moment(fleet.counted_from)} (pale), computed from the updates in the journal.`;
};

const bars = (id, items, none) => {
  const most = Math.max(...items.map((item) => item[1]), 1);
  byId(id).replaceChildren(...items.map(([name, count]) => {
    const bar = node("span", [], { className: "bar" });
    bar.style.width = `${(100 * count) / most}%`;
    return node("li", [node("span", name), bar, node("span", whole(count))]);
  }), ...(items.length ? [] : [node("p", none, { className: "note" })]));
};

// 0, 1, 2, 3-4, 5-8, ... ticks.
const grouped = (ages) => {
  const groups = new Map();
  for (const [age, count] of ages) {
    const high = age < 2 ? age : 2 ** Math.ceil(Math.log2(age)), low = high <= 2 ? high : high / 2 + 1;
    const name = low === high ? counted(high, "tick") : `${low} to ${high} ticks`;
    groups.set(name, (groups.get(name) ?? 0) + count);
  }
  return [...groups];
};

const showCounts = () => {
  bars("ages", grouped(fleet.ages), "no update was accepted yet");
  byId("late").textContent = fleet.late.length
    ? `of updates; 99 % within ${counted(fleet.late[2], "tick")}` : "";
  const away = fleet.turned_away.map(([why, count]) => [`by broker: ${why}`, count]);
  bars("refused", [...fleet.refused, ...away], "nothing was");
  byId("marks").replaceChildren(...fleet.marks.slice(-8).reverse().map(([time, words]) =>
    node("li", [node("time", moment(time)), clean(words)])));
};

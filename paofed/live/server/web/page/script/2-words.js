// Numbers, times and names for people.

// Characters that are not to be seen, or turn the direction of others, are shown as such.
const clean = (label) => label.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu, (letter) =>
  (letter === "\u200d" || letter === "\ufe0f" ? letter : "\ufffd"));

const node = (name, content = [], attributes = {}) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...[content].flat()); // as text, whatever is in it
  return made;
};
const nameOf = (row) => node("bdi", clean(row[FIELD.label]), { className: "clip" });
const dotOf = (state) => {
  const dot = node("i", [], { className: "dot" });
  dot.style.background = `var(--${state})`;
  return dot;
};

const whole = (number) => Math.round(number).toLocaleString("en");
const counted = (number, noun) => `${whole(number)} ${noun}${Math.round(number) === 1 ? "" : "s"}`;
const significant = (number) => Number(number.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
// An error that is told in dB, in the target's unit; in dB where the model sees a logarithm of the target.
const inUnit = (number) => fleet.scale * 10 ** (number / 20);
const errorOf = (number) =>
  (fleet.scale === null ? decibels(number) : `${significant(inUnit(number))} ${clean(fleet.target)}`);
const decibels = (number) => `${number.toFixed(1).replace("-", "\u2212")} dB`;

const bytes = (number) => {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (number < 999.5 || unit === "GB") {
      const exact = unit === "B" || number >= 99.5 || number === Math.round(number);
      return `${exact ? Math.round(number) : number.toFixed(1)} ${unit}`;
    }
    number /= 1000;
  }
};

const duration = (seconds) => {
  const all = Math.max(Math.round(seconds), 0);
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min`;
  if (all < 2 * 86400) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86400)} days`;
};
const ticks = (number) =>
  `${duration(number * fleet.tick_seconds)} (${number.toLocaleString("en", { maximumSignificantDigits: 3 })} ticks)`;
const ago = (tick) => (tick >= fleet.tick ? "in this tick" : `${duration(fleet.now - timeOf(tick))} ago`);

const two = (number) => String(number).padStart(2, "0");
const clock = (seconds, exact) => {
  const time = new Date(seconds * 1000);
  return `${two(time.getHours())}:${two(time.getMinutes())}${exact ? `:${two(time.getSeconds())}` : ""}`;
};
const day = (seconds) => {
  const time = new Date(seconds * 1000);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
};
const moment = (seconds) => `${day(seconds)} ${clock(seconds)}`;

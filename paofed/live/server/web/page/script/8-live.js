// Everything together, again and again; and the link to the server.

const FIGURES = () => {
  const members = present().filter((row) => row[FIELD.standing] !== "quarantined");
  const lost = (row) => row[FIELD.last_seen] === null || row[FIELD.faults].some(([kind]) => kind === "silent");
  const heard = members.filter((row) => !lost(row)).length;
  const look = members.filter((row) => row[FIELD.faults].length).length;
  const cost = costOfDevice();
  const figures = [
    [fleet.error ? errorOf(fleet.error[0]) : "–", fleet.error ? `error, usually ${errorOf(fleet.error[1])}` : "error"],
    [`${whole(heard)} of ${whole(members.length)}`, "devices heard"],
    [whole(look), "to be looked at"],
    [bytes(cost.bytes), cost.per],
    [whole(latest(24)[0]), "contacts in the last 24 h"],
  ];
  if (fleet.validation) {
    const [error, target, own] = fleet.validation;
    const words = own === null ? "" : `, ${decibels(own)}`;
    figures.splice(1, 0, [error.toPrecision(3), `${target} off on the validation file${words}`]);
  }
  return figures;
};

const render = () => {
  document.title = `${fleet.verdict[0] === "well" ? "" : "! "}${fleet.fleet}: paofed`;
  byId("fleet").textContent = fleet.fleet;
  const served = fleet.begun === null ? "nobody serves it" : `served for ${duration(fleet.now - fleet.begun)}`;
  byId("about").textContent = `${fleet.algorithm}, tick ${whole(fleet.tick)} of ${fleet.tick_seconds} s, ${served}; ${fleet.bounds}`;
  byId("verdict").className = fleet.verdict[0];
  byId("words").textContent = clean(fleet.verdict[1]);
  const lines = fleet.verdict[2].slice(0, 6).map((text) => node("li", node("bdi", clean(text), { className: "clip" })));
  const more = fleet.verdict[2].length - lines.length;
  byId("lines").replaceChildren(...lines, ...(more > 0 ? [node("li", `and ${whole(more)} more`)] : []));
  byId("figures").replaceChildren(...FIGURES().map(([big, small]) => node("li", [node("b", big), node("span", small)])));
  drawError();
  showErrorLegend();
  drawRaster();
  showDetails();
  drawCost();
  showCounts();
  byId("made").textContent = `paofed, ${moment(fleet.now)}. ` +
    `${whole(fleet.accepted)} updates accepted, ${whole(fleet.repeated)} repeated.`;
};

const press = (button, on) => button.setAttribute("aria-pressed", String(on));
const listen = () => {
  byId("raster-legend").replaceChildren(...STATES.map((name, n) => node("li", [dotOf(name), STATE_WORDS[n]])));
  const raster = byId("raster");
  raster.addEventListener("pointermove", showTip);
  raster.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  raster.addEventListener("click", (event) => {
    const found = pointed(event);
    if (found) choose(found.row[FIELD.device]);
  });
  raster.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { chooseNext(step); event.preventDefault(); }
    if (event.key === "Escape") choose(null);
  });
  byId("search").addEventListener("input", drawRaster);
  byId("troubled").addEventListener("click", (event) => {
    press(event.target, event.target.getAttribute("aria-pressed") !== "true");
    drawRaster();
  });
  for (const id of ["lately", "life"]) {
    byId(id).addEventListener("click", () => {
      wholeLife = id === "life";
      press(byId("lately"), !wholeLife);
      press(byId("life"), wholeLife);
      drawError();
      showErrorLegend();
    });
  }
  addEventListener("resize", render);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
};

const say = (kind, words) => {
  const link = byId("link");
  link.className = kind;
  link.textContent = words;
};

const AWAY = 12000, AGAIN = 3000; // milliseconds without a word, and until the next attempt
let work = Promise.resolve(); // messages are taken one after the other
let heardAt = 0, source = null;

const heard = (message) => {
  heardAt = Date.now();
  say("live", "live");
  if (message) work = work.then(() => take(message)).then(render);
};
const lost = () => say("lost", `disconnected since ${clock(heardAt / 1000, true)}, trying again`);

const connect = () => {
  source?.close();
  const address = new URL("events", location.href);
  address.search = location.search;
  address.searchParams.set("since", fleet.since);
  source = new EventSource(address);
  const told = (event) => {
    fleet.since = event.lastEventId;
    heard(JSON.parse(event.data));
  };
  source.addEventListener("view", told);
  source.addEventListener("news", told);
  source.addEventListener("beat", () => heard(null));
  source.addEventListener("error", () => {
    lost();
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN);
  });
};

work = take(fleet).then(() => {
  listen();
  render();
  document.body.dataset.ready = "yes";
  if (!fleet.since) {
    say("", `as of ${moment(fleet.now)}`);
    return;
  }
  heardAt = Date.now();
  say("live", "live");
  connect();
  setInterval(() => {
    if (Date.now() - heardAt > AWAY) lost();
    if (Date.now() - heardAt > 3 * AWAY && source.readyState !== EventSource.CONNECTING) connect();
  }, 1000);
});

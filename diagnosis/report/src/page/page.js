// Shows what a part of a picture is: on hover, and by arrow keys once the picture has the focus.
// Without this script, each part's <title> still does on hover.
(() => {
  const tip = document.getElementById("tip");
  const show = (part) => {
    tip.textContent = part.dataset.tip;
    tip.hidden = false;
    const box = part.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = box.left + box.width / 2 - own.width / 2;
    const right_most = document.documentElement.clientWidth - own.width - 8;
    tip.style.left = Math.max(8, Math.min(left, right_most)) + "px";
    const above = box.top - own.height - 8;
    tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
  };
  const hide = () => { tip.hidden = true; };
  for (const picture of document.querySelectorAll("svg[data-rove]")) {
    const parts = [...picture.querySelectorAll(".tip")];
    for (const part of parts) {
      const title = part.querySelector("title");
      part.dataset.tip = title.textContent;
      part.setAttribute("role", "img");
      part.setAttribute("aria-label", title.textContent);
      title.remove();
      part.addEventListener("pointerenter", () => show(part));
      part.addEventListener("pointerleave", hide);
    }
    if (parts.length === 0) continue;
    let at = -1;
    const mark = (to) => {
      if (at >= 0) parts[at].classList.remove("here");
      at = to;
      if (at < 0) { hide(); return; }
      parts[at].classList.add("here");
      parts[at].scrollIntoView({ block: "nearest", inline: "nearest" });
      show(parts[at]);
    };
    picture.setAttribute("tabindex", "0");
    picture.addEventListener("blur", () => mark(-1));
    picture.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: parts.length - 1 }[event.key];
      if (event.key === "Escape") mark(-1);
      if (to === undefined) return;
      event.preventDefault();
      mark(Math.max(0, Math.min(to, parts.length - 1)));
    });
  }
  addEventListener("scroll", hide, { passive: true });
})();

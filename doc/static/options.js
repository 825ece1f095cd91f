// A box above the tables of options that leaves only the rows with all of its words.
document.addEventListener("DOMContentLoaded", () => {
  if (!location.pathname.endsWith("/doc/options.html")) return;
  const rows = [...document.querySelectorAll("article tbody tr")];
  const box = Object.assign(document.createElement("input"), { type: "search", className: "filter", placeholder: "Filter: part of an option, a routine, a word" });
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(" ");
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
  document.querySelector("article h1").after(box);
});

// Formulas are set, pictures loaded, and what is wider than the paper is made smaller. Says what stays too wide.
async function fitted() {
  await window.MathJax?.startup?.promise;
  await Promise.all([...document.images].map((image) => image.decode()));
  const room = document.body.clientWidth;
  const boxes = [...document.querySelectorAll("mjx-container, table, pre, img")];
  const over = (box) => box.getBoundingClientRect().right - room;
  for (const box of boxes)
    for (let size = 100; over(box) > 1 && size > 55; size -= 5) box.style.fontSize = `${size}%`;
  return boxes.filter((box) => over(box) > 1).map((box) => box.closest("[id]").id);
}

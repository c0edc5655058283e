// Returns the words that are broken across two lines. Words of more than 30 characters may break, and words of more than 20
// characters in code and in data of others. Examples of differences are not checked: they contain ids, in a narrow column.
(() => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (element.closest('svg, script, select, .unseen, .examples') || !element.checkVisibility()) continue;
    const limit = element.closest('bdi, code') ? 20 : 30;
    for (const word of node.data.matchAll(/[^\s-]+/g)) {
      if (word[0].length > limit) continue;
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(`${word[0]} in ${element.tagName}.${element.className}`);
    }
  }
  return broken;
})();

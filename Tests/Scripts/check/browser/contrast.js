// Returns the texts whose contrast with their background is below 4.5, or below 3 for large text.
// https://www.w3.org/TR/WCAG22/#contrast-minimum
(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const channels = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const background = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(channels(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((c) => {
      const s = c / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const failures = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('');
    if (text === '' || element.closest('svg, script, option') || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const behind = background(element);
    const [a, b] = [luminance(over(channels(style.color), behind)), luminance(behind)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700) ? 3 : 4.5;
    if (contrast < least) failures.push(`${element.tagName}.${element.className} ${contrast.toFixed(2)} ${text.slice(0, 40)}`);
  }
  return failures;
})()

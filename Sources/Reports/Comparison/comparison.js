'use strict';
(() => {
  const filters = document.getElementById('filters');
  if (!filters) return;
  const controls = [...filters.querySelectorAll('[data-key]')];
  const status = document.getElementById('shown');
  const rules = [...document.querySelectorAll('#entries tr, #records tr')].map((row) => [row, [...row.querySelectorAll('.places > li')]]);
  const entries = rules.flatMap(([, places]) => places);
  const receipts = [...document.querySelectorAll('#documents .receipt')];
  const toggle = document.getElementById('toggle');
  const only = document.getElementById('only-differing');
  const texts = new Map();

  const textOf = (node) => {
    if (!texts.has(node)) texts.set(node, node.textContent.toLowerCase());
    return texts.get(node);
  };
  const matches = (node, [key, value]) =>
    key === 'text' ? textOf(node).includes(value.toLowerCase()) : node.dataset[key] === value;
  // A place has the class and the name of its rule.
  const matchesPlace = (row, place, [key, value]) =>
    matches(['class', 'rule'].includes(key) ? row : place, [key, value]);
  const isScopeFilter = ([key]) => ['app', 'environment'].includes(key);

  // A receipt is shown if one of its marks matches all filters.
  const matchesReceipt = (receipt, active) => {
    if (!active.filter(isScopeFilter).every((one) => matches(receipt, one))) return false;
    const rest = active.filter((one) => !isScopeFilter(one));
    if (rest.length === 0) return true;
    const summary = receipt.querySelector('summary');
    return [...receipt.querySelectorAll('[data-rule]')].some((mark) =>
      rest.every((one) => matches(mark, one) ? true : one[0] === 'text' ? matches(summary, one) : false));
  };

  const activeFilters = () => controls
    .map((control) => [control.dataset.key, control.value.trim()])
    .filter(([, value]) => value !== '');

  const apply = () => {
    const active = activeFilters();
    let count = 0;
    for (const [row, places] of rules) {
      let shown = 0;
      for (const place of places) {
        place.hidden = !active.every((one) => matchesPlace(row, place, one));
        if (!place.hidden) shown += 1;
      }
      row.hidden = shown === 0;
      count += shown;
    }
    let documents = 0;
    for (const receipt of receipts) {
      receipt.hidden = !matchesReceipt(receipt, active);
      if (!receipt.hidden) documents += 1;
    }
    document.getElementById('documents').classList.toggle('only', only ? only.checked : false);
    const parts = [`${count} of ${entries.length} differences`];
    if (receipts.length > 0) parts.push(`${documents} of ${receipts.length} receipts side by side`);
    status.textContent = `Shown: ${parts.join(', ')}.`;
  };

  const saveFilters = () => {
    const hash = new URLSearchParams(activeFilters());
    if (only ? only.checked : false) hash.set('only', 'differing');
    const text = hash.toString();
    history.replaceState(null, '', text === '' ? location.pathname + location.search : `#${text}`);
  };

  // Other fragments are anchors in the page.
  const restoreFilters = () => {
    const text = location.hash.slice(1);
    if (text !== '' ? !text.includes('=') : false) return;
    const hash = new URLSearchParams(text);
    for (const control of controls) {
      const value = hash.get(control.dataset.key) ?? '';
      control.value = value;
      if (control.value !== value) {
        control.append(new Option(value, value));
        control.value = value;
      }
    }
    if (only) only.checked = hash.get('only') === 'differing';
    apply();
  };

  const change = () => { apply(); saveFilters(); };
  for (const control of controls) control.addEventListener('input', change);
  if (only) only.addEventListener('change', change);
  document.getElementById('reset').addEventListener('click', () => {
    for (const control of controls) control.value = '';
    if (only) only.checked = false;
    change();
    controls[0].focus();
  });
  window.addEventListener('hashchange', restoreFilters);

  filters.hidden = false;
  if (toggle) toggle.hidden = false;
  apply();
  restoreFilters();
  if (location.hash.includes('=')) document.getElementById('differences').scrollIntoView();
})();

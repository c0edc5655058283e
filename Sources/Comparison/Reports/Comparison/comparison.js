'use strict';
(() => {
  const table = document.getElementById('entries')?.closest('table');
  if (!table) return;
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const values = (key) => [...new Set([...document.querySelectorAll(`[data-${key}]`)].map((one) => one.dataset[key]))].sort();
  const labelled = (title, control) => element('label', {}, element('span', {}, title), control);
  const select = (title, key) => labelled(title, element('select', {'data-key': key},
    new Option('all', ''), ...values(key).map((value) => new Option(value, value))));
  const text = element('input', {'type': 'search', 'data-key': 'text', 'autocomplete': 'off', 'spellcheck': 'false'});
  const reset = element('button', {type: 'button', id: 'reset'}, 'Reset');
  const status = element('p', {'id': 'shown', 'role': 'status', 'aria-live': 'polite'});
  const filters = element('div', {'id': 'filters', 'class': 'filters', 'role': 'search', 'aria-label': 'Filter'},
    select('App', 'app'), select('Environment', 'environment'), select('Class', 'class'), select('Rule', 'rule'),
    select('Field', 'field'), labelled('Path, value or receipt', text), reset, status);
  const controls = [...filters.querySelectorAll('[data-key]')];
  const rules = [...document.querySelectorAll('#entries tr, #records tr')].map((row) => [row, [...row.querySelectorAll('.places > li')]]);
  const entries = rules.flatMap(([, places]) => places);
  const receipts = [...document.querySelectorAll('#documents .receipt')];
  const only = element('input', {type: 'checkbox', id: 'only-differing'});
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
    document.getElementById('documents').classList.toggle('only', only.checked);
    const parts = [`${count} of ${entries.length} differences`];
    if (receipts.length > 0) parts.push(`${documents} of ${receipts.length} receipts side by side`);
    status.textContent = `Shown: ${parts.join(', ')}.`;
  };

  const saveFilters = () => {
    const hash = new URLSearchParams(activeFilters());
    if (only.checked) hash.set('only', 'differing');
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
    only.checked = hash.get('only') === 'differing';
    apply();
  };

  const change = () => { apply(); saveFilters(); };
  for (const control of controls) control.addEventListener('input', change);
  only.addEventListener('change', change);
  reset.addEventListener('click', () => {
    for (const control of controls) control.value = '';
    only.checked = false;
    change();
    controls[0].focus();
  });
  window.addEventListener('hashchange', restoreFilters);

  table.before(filters);
  receipts[0]?.before(element('p', {class: 'toggle', id: 'toggle'},
    element('label', {}, only, ' Show only fields that differ')));
  apply();
  restoreFilters();
  if (location.hash.includes('=')) document.getElementById('differences').scrollIntoView();
})();

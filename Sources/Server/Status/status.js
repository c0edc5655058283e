'use strict';
(() => {
  if (location.protocol === 'file:') return;
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const box = element('input', {type: 'checkbox', checked: ''});
  const state = element('span', {role: 'status'});
  const label = element('label', {}, box, ' Refresh every 10 seconds');
  document.querySelector('main').before(element('p', {class: 'refresh', id: 'refresh'}, label, state));
  const summaries = () => [...document.querySelectorAll('main summary')];
  // Without the numbers, which change.
  const nameOf = (summary) => summary.querySelector('strong')?.textContent ?? summary.textContent.replace(/^[\d,]+/, '');

  const show = (page) => {
    const parts = ['header', 'main'].map((name) => [document.querySelector(name), page.querySelector(name)]);
    if (parts.some(([, next]) => !next)) throw new Error('another page');
    const open = new Set(summaries().filter((one) => one.parentElement.open).map(nameOf));
    const active = document.activeElement;
    const focused = active.closest('main summary, main a');
    for (const [old, next] of parts) old.replaceWith(next);
    document.title = page.title;
    for (const one of summaries()) if (open.has(nameOf(one))) one.parentElement.open = true;
    if (!focused) return;
    const same = focused.matches('summary') ? (one) => nameOf(one) === nameOf(focused) : (one) => one.href === focused.href;
    [...document.querySelectorAll(`main ${focused.localName}`)].find(same)?.focus({preventScroll: true});
  };

  const refresh = async () => {
    if (!box.checked || document.hidden || !getSelection().isCollapsed) return;
    try {
      const response = await fetch(location.pathname, {cache: 'no-store', signal: AbortSignal.timeout(9000)});
      if (!response.ok) throw new Error(`${response.status}`);
      show(new DOMParser().parseFromString(await response.text(), 'text/html'));
      state.textContent = '';
    } catch {
      state.textContent ||= ` ▲ The server has not responded since ${new Date().toLocaleTimeString()}.`;
    }
  };

  setInterval(refresh, 10000);
  box.addEventListener('input', refresh);
  document.addEventListener('visibilitychange', refresh);
})();

export interface InkKey {
  upArrow: boolean;
  downArrow: boolean;
  leftArrow: boolean;
  rightArrow: boolean;
  pageDown: boolean;
  pageUp: boolean;
  home: boolean;
  end: boolean;
  return: boolean;
  escape: boolean;
  ctrl: boolean;
  shift: boolean;
  tab: boolean;
  backspace: boolean;
  delete: boolean;
  meta: boolean;
}

const NAMES = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageDown', 'pagedown'],
  ['pageUp', 'pageup'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'esc'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
] as const;

const CONTROLS: Readonly<Record<string, string>> = { '\r': 'enter', '\n': 'enter', '\t': 'tab', '\u007F': 'backspace' };
const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The keys of one event. Who types fast, or over a slow line, sends several at once. */
export function keysIn(input: string, key: InkKey): string[] {
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  const named = NAMES.find(([name]) => key[name]);
  if (named) return [named[1]];
  if (key.ctrl && input !== '') return [`ctrl-${input}`];
  // Escape and a key that follows it at once look like a key with Alt, which means nothing here by itself.
  const before = key.meta ? ['esc'] : [];
  const typed = [...segments.segment(input.replaceAll('\r\n', '\r'))].flatMap(({ segment }) => {
    const name = CONTROLS[segment];
    if (name !== undefined) return [name];
    if (/^[\u0001-\u001A]/.test(segment)) return [`ctrl-${String.fromCharCode(segment.charCodeAt(0) + 0x60)}`];
    return /^\p{Cc}/u.test(segment) ? [] : [segment];
  });
  return [...before, ...typed];
}

import { decodeAttribute } from '../html-references/index.ts';

/** Elements that say how a text is set, and bring nothing from elsewhere. */
const KEPT = new Set(
  [
    'p div blockquote pre code b strong i em u s sub sup h1 h2 h3 h4 h5 h6',
    'ul ol li dl dt dd table thead tbody tr td th br hr',
  ].flatMap((line) => line.split(' ')),
);
const VOID = new Set(['br', 'hr']);
/** What stands in them is no text of the message, or is text to a browser whatever it looks like. */
const LEFT_OUT = new Set(
  'script style title textarea xmp iframe noembed noframes template object svg math select noscript'.split(' '),
);
const DEPTH_MAX = 100;
const ADDRESS_CHARS_MAX = 2048;
const ATTRIBUTES_CHARS_MAX = 8192;
const ALT_CHARS_MAX = 200;
const LINKED = /^(?:https?:\/\/|mailto:)[^\s"'<>]+$/i;
const NAME = /[a-z][a-z0-9:-]{0,30}/iy;

/**
 * HTML of a stranger as it may stand inside of ours: elements without any attribute, each of them closed, so that nothing in
 * it is fetched, runs, covers what stands around it, or ends the element that it is put into. Links are their text with the
 * address behind it, pictures what is said in their place. Of a text that is longer than `charsMax` its beginning.
 */
export function plainHtml(html: string, charsMax: number): string {
  const source = html.slice(0, charsMax).toWellFormed().replaceAll('\0', '');
  const state: State = { source, lower: lowered(source), at: 0, out: [], open: [], link: undefined };
  while (state.at < source.length) step(state);
  endLink(state);
  for (const name of state.open.toReversed()) state.out.push(`</${name}>`);
  return state.out.join('');
}

/** ASCII alone: other letters may become two. */
const lowered = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

interface State {
  source: string;
  lower: string;
  at: number;
  out: string[];
  open: string[];
  link: { address: string; outAt: number } | undefined;
}

function step(state: State): void {
  const { source, at } = state;
  const next = source.indexOf('<', at);
  const end = next < 0 ? source.length : next;
  if (end > at) state.out.push(asText(source.slice(at, end)));
  state.at = end;
  if (next >= 0) markup(state);
}

/** Entities stay as they are: in a text none of them makes an element. */
const asText = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function markup(state: State): void {
  const { source, at } = state;
  if (source.startsWith('<!--', at)) return skipTo(state, '-->', at + 4);
  if (/[!?]/.test(source[at + 1] ?? '')) return skipTo(state, '>', at + 2);
  const isEnd = source[at + 1] === '/';
  NAME.lastIndex = at + (isEnd ? 2 : 1);
  const name = NAME.exec(source)?.[0].toLowerCase();
  if (name === undefined) {
    state.out.push('&lt;');
    state.at = at + 1;
    return;
  }
  const end = tagEnd(source, NAME.lastIndex);
  const attributes = source.slice(NAME.lastIndex, Math.min(end, NAME.lastIndex + ATTRIBUTES_CHARS_MAX));
  state.at = end + 1;
  if (end === source.length) return;
  if (isEnd) close(state, name);
  else open(state, name, attributes);
}

/** Where the tag ends: no `>` in quotes does. Without an end, the rest is a tag to every reader. */
function tagEnd(source: string, from: number): number {
  let quote = '';
  for (let at = from; at < source.length; at++) {
    const char = source[at]!;
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '>') return at;
    // Elsewhere than behind an equals sign a quote is part of a name.
    else if ((char === '"' || char === "'") && /=\s*$/.test(source.slice(Math.max(from, at - 20), at))) quote = char;
  }
  return source.length;
}

function skipTo(state: State, mark: string, from: number): void {
  const found = state.source.indexOf(mark, from);
  state.at = found < 0 ? state.source.length : found + mark.length;
}

function open(state: State, name: string, attributes: string): void {
  if (LEFT_OUT.has(name)) return leaveOut(state, name);
  if (name === 'img') {
    const alt = attributeOf(attributes, 'alt').slice(0, ALT_CHARS_MAX).trim();
    if (alt !== '') state.out.push(`[${asText(alt)}]`);
  }
  if (name === 'a') {
    endLink(state);
    const address = decodeAttribute(attributeOf(attributes, 'href')).trim();
    const isShown = address.length <= ADDRESS_CHARS_MAX && LINKED.test(address);
    if (isShown) state.link = { address: address.replaceAll('&', '&amp;'), outAt: state.out.length };
  }
  if (!KEPT.has(name) || state.open.length >= DEPTH_MAX) return;
  state.out.push(`<${name}>`);
  if (!VOID.has(name)) state.open.push(name);
}

/** Its end tag, if there is one; without it everything behind belongs to the element. */
function leaveOut(state: State, name: string): void {
  const found = state.lower.indexOf(`</${name}`, state.at);
  state.at = found < 0 ? state.source.length : found;
}

function close(state: State, name: string): void {
  if (name === 'a') endLink(state);
  const at = state.open.lastIndexOf(name);
  if (at < 0) return;
  endLink(state);
  for (const inner of state.open.splice(at).toReversed()) state.out.push(`</${inner}>`);
}

function endLink(state: State): void {
  const { link } = state;
  state.link = undefined;
  if (link && state.out.slice(link.outAt).join('').trim() !== link.address) state.out.push(` (${link.address})`);
}

function attributeOf(attributes: string, name: string): string {
  const found = new RegExp(String.raw`[\s"'/]${name}\s{0,20}=\s{0,20}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`, 'i').exec(
    attributes,
  );
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? '';
}

import { parseMerge } from '../merge/index.ts';
import { decodeAttribute } from '../html-references/index.ts';
import { isWebAddress, type StartTag } from '../track-links/index.ts';
import type { ContentCheck } from './content-check.ts';
import { shownSome } from './shown-some.ts';
import { withDefaults } from './with-defaults.ts';

/** Where a link leads, as it is written and as a browser reads it. */
interface Link {
  written: string;
  address: string;
  /** It begins with a merge variable, whose value is not known here. */
  isOpen: boolean;
}

/** Addresses that open another program than a browser, on purpose. */
const OTHER_PROGRAMS = /^(?:mailto|tel|sms):./i;

/** As far back as the beginning of a tag is looked for, and so many variables: a hostile body costs no more. */
const TAG_CHARS = 2000;
const LOOKED_AT = 1000;

/** Merge variables in attributes without quotes: a value with a blank would end the attribute, and begin another one. */
function unquotedIn(html: string): string[] {
  const found: string[] = [];
  let at = html.indexOf('{{{');
  for (let looked = 0; at >= 0 && looked < LOOKED_AT; looked++, at = html.indexOf('{{{', at + 3)) {
    const before = html.slice(Math.max(0, at - TAG_CHARS), at);
    const tag = before.slice(before.lastIndexOf('<')).replaceAll(/"[^"]*"|'[^']*'/g, '""');
    if (/^<[a-z][^>"']*(?:""[^>"']*)*$/i.test(tag) && /[\s"][\w:-]+\s*=\s*[^\s"]*$/.test(tag.slice(-200)))
      found.push(`${tag}${html.slice(at, at + 40)}`);
  }
  return found;
}

/** Each link has to lead somewhere from within a mail program, where no page is. */
export function checkLinks(tags: readonly StartTag[], html = ''): ContentCheck {
  const unquoted = unquotedIn(html);
  if (unquoted.length > 0) {
    const message = 'An attribute with a merge variable has no quotes; write them, such as href="{{{url}}}".';
    return { name: 'links', status: 'fail', message, details: shownSome(unquoted) };
  }
  const links = linksOf(tags);
  const broken = links.filter((link) => !link.isOpen && !runsCode(link.address) && !leadsSomewhere(link.address));
  if (broken.length === 0) {
    const message = links.length === 0 ? 'There are no links.' : 'Every link is a full web address.';
    return { name: 'links', status: 'pass', message, details: [] };
  }
  return {
    name: 'links',
    status: 'fail',
    message: 'A link is empty, # or not a full web address; write it whole, such as https://example.com/page.',
    details: shownSome(broken.map(({ written }) => written)),
  };
}

const leadsSomewhere = (address: string): boolean => isWebAddress(address) || OTHER_PROGRAMS.test(address);

/** Nothing that runs code may be a link; plain http is told of. */
export function checkLinkTypes(tags: readonly StartTag[]): ContentCheck {
  const running = tags.flatMap(codeIn);
  if (running.length > 0) {
    const message = 'A link would run code; mail programs block it, and filters refuse the mail.';
    return { name: 'link_types', status: 'fail', message, details: shownSome(running) };
  }
  const plain = linksOf(tags).filter(({ address }) => /^http:/i.test(address));
  if (plain.length > 0) {
    const message = 'A link begins with http://; write https:// where the site answers there.';
    return { name: 'link_types', status: 'warn', message, details: shownSome(plain.map(({ written }) => written)) };
  }
  return { name: 'link_types', status: 'pass', message: 'No link runs code, and none is plain http.', details: [] };
}

function linksOf(tags: readonly StartTag[]): Link[] {
  return tags.flatMap(({ name, attributes }) => {
    const written = name === 'a' || name === 'area' ? attributes.get('href') : undefined;
    return written === undefined ? [] : [linkOf(written)];
  });
}

function linkOf(written: string): Link {
  const address = readAddress(withDefaults(written));
  const [first] = parseMerge(written.trim());
  // With a default it leads there for a contact that has nothing.
  const isOpen = typeof first === 'object' && (first.inlineDefault ?? '') === '';
  return { written, address, isOpen };
}

/** Attributes that a browser follows or loads. */
const FOLLOWED = ['href', 'xlink:href', 'action', 'formaction', 'src', 'data', 'background', 'poster', 'ping', 'to'];

function codeIn({ name, attributes }: StartTag): string[] {
  const isPicture = name === 'img' || name === 'image' || name === 'source';
  const found = FOLLOWED.flatMap((attribute) => {
    const written = attributes.get(attribute);
    if (written === undefined) return [];
    // A picture that stands in the body itself is one; whatever it holds, it runs nothing.
    if (isPicture && /^data:image\//i.test(readAddress(withDefaults(written)))) return [];
    return runsCode(readAddress(withDefaults(written))) ? [written] : [];
  });
  const refresh = name === 'meta' ? attributes.get('content') : undefined;
  const target = refresh === undefined ? undefined : /url\s*=\s*["']?([^]*)$/i.exec(readAddress(refresh))?.[1];
  return target !== undefined && runsCode(readAddress(target)) ? [...found, refresh ?? ''] : found;
}

const runsCode = (address: string): boolean => /^(?:javascript|vbscript|livescript|mocha|data|jar):/i.test(address);

/** URL §4.4: browsers take controls and spaces away at both ends, and tabs and line breaks everywhere. */
function readAddress(value: string): string {
  const decoded = decodeAttribute(value);
  let start = 0;
  while (start < decoded.length && decoded.charCodeAt(start) <= 0x20) start++;
  let end = decoded.length;
  while (end > start && decoded.charCodeAt(end - 1) <= 0x20) end--;
  return decoded.slice(start, end).replaceAll(/[\t\n\r]/g, '');
}

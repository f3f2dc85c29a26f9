import { decodeAttribute } from '../html-references/index.ts';
import { firstMatches } from './first-matches.ts';

const LINK = /href[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
const SHOWN = /^(?:https?:\/\/|mailto:|tel:)/i;
const CHARS_MAX = 2048;
/** Most links of a hostile text are none, or the same one again. */
const LOOKED_AT_MAX = 5000;

/** The addresses that a text links to, each once and in order, to be read and not to be followed. */
export function linksIn(html: string, countMax: number): string[] {
  const links = new Set<string>();
  for (const [, double, single, bare] of firstMatches(html, LINK, LOOKED_AT_MAX)) {
    if (links.size >= countMax) break;
    const address = decodeAttribute(double ?? single ?? bare ?? '').trim();
    if (SHOWN.test(address) && address.length <= CHARS_MAX) links.add(address);
  }
  return [...links];
}

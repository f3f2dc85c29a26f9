import type { Config } from '../../../platform/config/index.ts';
import { isLocalHost } from '../../../platform/network/index.ts';
import { invalidFields } from '../../../platform/refusal/index.ts';
import { readHttpsUrl } from '../../../protocol/https-url/index.ts';

const PATH = 'endpoint';

/** Reads the address of an endpoint as far as its text can say; http only in the development profile, to a host of one's own. */
export function readEndpoint({ profile }: Pick<Config, 'profile'>, text: string): URL {
  const url =
    profile === 'development' && /^http:/i.test(text) ? readLocalUrl(text) : (textFault(text) ?? readHttpsUrl(text));
  if (typeof url !== 'string') return url;
  throw invalidFields([{ path: PATH, message: `${PATH} ${url}` }]);
}

function readLocalUrl(text: string): URL | string {
  const asHttps = text.replace(/^http:/i, 'https:');
  const url = textFault(asHttps) ?? readHttpsUrl(asHttps);
  if (typeof url === 'string') return url;
  if (isLocalHost(url.hostname)) return new URL(text);
  return 'must be https, or http at a host of your own such as http://localhost:4000/hooks.';
}

/** What the parser of URLs would mend or drop without a word: what is stored is what was written, and it is read again. */
function textFault(text: string): string | undefined {
  if (text.includes('#')) return 'must be a URL without a fragment (#…), which no request carries.';
  // "https://a\@b/" is a path at a for some parsers and the host b for others.
  if (text.includes('\\')) return 'must be a URL without backslashes; in a path, write %5C.';
  if (/^https:\/\/[^\s/?]/i.test(text) && URL.canParse(text)) return undefined;
  if (/^http:/i.test(text))
    return 'must be https. A program on your own machine gets events by listening, without an endpoint.';
  return 'must be an absolute https URL such as https://example.com/hooks.';
}

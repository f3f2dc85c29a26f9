const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const STRAY_PERCENT = /%(?![0-9a-f]{2})/gi;
const REPLACEMENT = '%EF%BF%BD';

// The second server of the contract: all paths exist below it too, for clients that know only that base.
const DEPLOYMENT_BASE = '/api/v1';

/**
 * Returns the path as the contract writes it, whichever of the two servers the caller uses. Pages for people are at one address
 * alone. Slashes at the beginning count as one: clients append `/emails` to a base address that ends with a slash.
 */
export function contractTarget(target: string, isPage: (target: string) => boolean = () => false): string {
  const single = target.startsWith('//') ? target.replace(/^\/+/, '/') : target;
  return contractPath(single, isPage);
}

function contractPath(target: string, isPage: (target: string) => boolean): string {
  const below = target.startsWith(`${DEPLOYMENT_BASE}/`) ? target.slice(DEPLOYMENT_BASE.length) : undefined;
  return withClaim(withSegments(decodableTarget(below === undefined || isPage(below) ? target : below)));
}

/** Reads `/domains/claims` and `/domains/{id}/claims`, as the client of PHP writes them, in the singular. */
function withClaim(target: string): string {
  return target.startsWith('/domains/')
    ? target.replace(/^(\/domains(?:\/[^/?#]+)?\/claim)s(?=(?:\/verify)?(?:[?#]|$))/, '$1')
    : target;
}

/** Reads `/audiences` and `/audiences/{id}`, the former names, as `/segments`; what stands below an audience has routes of its own. */
function withSegments(target: string): string {
  return target.startsWith('/audiences')
    ? target.replace(/^\/audiences(?=(?:\/[^/?#]+)?(?:[?#]|$))/, '/segments')
    : target;
}

/**
 * Makes every path decodable, so that a broken escape is reported as a fault of its parameter, when that is checked: a
 * percent sign without an escape stands for itself, and escapes that are not UTF-8 become U+FFFD.
 */
function decodableTarget(target: string): string {
  if (!target.includes('%')) return target;
  const end = target.indexOf('?');
  const path = end < 0 ? target : target.slice(0, end);
  return path.replace(STRAY_PERCENT, '%25').replace(ESCAPES, utf8OrReplacement) + target.slice(path.length);
}

function utf8OrReplacement(escapes: string): string {
  try {
    decodeURIComponent(escapes);
    return escapes;
  } catch {
    return REPLACEMENT;
  }
}

/** A parameter that is given twice becomes a list, which no parameter of ours is: the contract's check names it. */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of new URLSearchParams(text)) {
    const before = query[name];
    query[name] =
      before === undefined ? value : Array.isArray(before) ? [...(before as unknown[]), value] : [before, value];
  }
  return query;
}

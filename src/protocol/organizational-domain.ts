/** Labels below which registries of countries register names, such as co.uk. */
const REGISTRY_LABELS: ReadonlySet<string> = new Set(
  'ac co com edu gob gouv gov gv ltd me mil ne net nhs nic or org plc sch'.split(' '),
);

/**
 * Estimates the name that somebody registered, so that all names below it have one limit: the last two labels, or three
 * below a registry like co.uk. What the owner publishes, such as the records of DMARC, cannot be used for a limit,
 * because an untrusted party could make any number of organizations of one name.
 */
export function estimateOrganizationalDomain(domain: string): string {
  if (/^\[|^[\d.]+$/.test(domain)) return domain;
  const labels = domain.split('.');
  const [registry = '', country = ''] = labels.slice(-2);
  return labels.slice(country.length === 2 && REGISTRY_LABELS.has(registry) ? -3 : -2).join('.');
}

/** Reports whether one name is the other or a parent of it, and no top-level domain. */
export function areRelated(one: string, other: string): boolean {
  if (one === other) return true;
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter.includes('.') && longer.endsWith(`.${shorter}`);
}

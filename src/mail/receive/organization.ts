/**
 * Loads the list of public suffixes, and returns a function that finds the organizational domain of a name as DMARC does: for
 * `a.example.co.uk` it is `example.co.uk`, and for a public suffix or an address it is the name itself. The function remembers
 * names, so it must not be kept for good.
 */
export async function loadOrganizationFinder(): Promise<(name: string) => string> {
  const { getAlignment } = await import('mailauth/lib/tools.js');
  const known = new Map<string, string>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const labels = name.split('.');
    const suffixes = labels.map((_, at) => labels.slice(at).join('.')).toReversed();
    const found = suffixes.find((suffix) => getAlignment(name, [{ domain: suffix }], false) !== false) ?? name;
    known.set(name, found);
    return found;
  };
}

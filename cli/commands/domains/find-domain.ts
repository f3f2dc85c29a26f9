import type { Client } from '../../client/index.ts';
import { CliFault } from '../../output/index.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PAGE = 100;

/** People know their domains by name; the API knows them by id. */
export async function findDomainId(client: Client, domain: string): Promise<string> {
  if (UUID.test(domain)) return domain;
  const name = domain.toLowerCase().replace(/\.$/, '');
  let after: string | undefined;
  do {
    const page = await client.call('listDomains', { query: { limit: PAGE, after } });
    const found = page.data.find((item) => item.name === name);
    if (found) return found.id;
    after = page.has_more ? page.data.at(-1)?.id : undefined;
  } while (after !== undefined);
  throw new CliFault(`there is no domain ${domain} in this team. See what there is with: rasket domains list`);
}

import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { receivingDomain, returnPathOwner } from './domains.store.ts';

/** Whether mail for this name comes to this installation: to its host, a domain that receives or a domain's return paths. */
export async function takesMailHere(
  { config, db }: { config: Store['config']; db: Executor },
  name: string,
): Promise<boolean> {
  if (name === config.instance.host.toLowerCase()) return true;
  return (await receivingDomain(db, name)) !== undefined || (await returnPathOwner(db, name)) !== undefined;
}

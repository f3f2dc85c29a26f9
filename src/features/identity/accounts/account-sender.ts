import { parseMailbox } from '../../../protocol/address/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { oldestVerifiedDomain, verifiedDomainNamed } from './account-mails.store.ts';

/** From where the mails of accounts are sent: an address, and the team whose domain it is on. */
export interface AccountSender {
  teamId: string;
  address: string;
}

const LOCAL_PART = 'notifications';

/** Undefined where no such mail can be sent. */
export async function accountSender({ db, config }: Pick<Store, 'db' | 'config'>): Promise<AccountSender | undefined> {
  const { mail_from: from } = config.accounts;
  if (from === '') {
    const oldest = await oldestVerifiedDomain(db);
    return oldest && { teamId: oldest.team_id, address: `${LOCAL_PART}@${oldest.name}` };
  }
  const parsed = parseMailbox(from);
  const domain = parsed.ok ? await verifiedDomainNamed(db, parsed.mailbox.domain) : undefined;
  return domain && { teamId: domain.team_id, address: from };
}

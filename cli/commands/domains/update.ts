import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { findDomainId } from './find-domain.ts';
import { readSettings, type SettingsOptions } from './settings.ts';

export async function updateDomain(session: Session, domain: string, options: SettingsOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const body = readSettings(options);
  if (Object.keys(body).length === 0) {
    throw new CliFault('name at least one setting to change. See them with: rasket domains update --help', 'usage');
  }
  const changed = await client.call('updateDomain', { path: { domain_id: await findDomainId(client, domain) }, body });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
  if (body.capabilities?.receiving === 'enabled') {
    terminal.hint(`Mail comes in once its MX record is published; see it with: rasket domains get ${domain}`);
  }
}

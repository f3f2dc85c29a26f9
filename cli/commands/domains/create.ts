import type { CreateDomainRequest } from '../../../src/contract/index.ts';
import type { Session } from '../declare.ts';
import { printDomain } from './records.ts';
import { readSettings, type SettingsOptions } from './settings.ts';

export interface CreateDomainOptions extends SettingsOptions {
  region?: CreateDomainRequest['region'];
  customReturnPath?: string;
  zone?: boolean;
}

export async function createDomain(session: Session, name: string, options: CreateDomainOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { region, customReturnPath } = options;
  const body = {
    name,
    ...(region === undefined ? {} : { region }),
    ...(customReturnPath === undefined ? {} : { custom_return_path: customReturnPath }),
    ...readSettings(options),
    // The contract marks these two as always present because they have a default; leaving them out asks for it.
  } as CreateDomainRequest;
  const domain = await client.call('createDomain', { body });
  if (isJson) return terminal.printJson(domain);
  printDomain(terminal, domain, options.zone ?? false);
  terminal.hint(`\nPublish these records, then run: rasket domains verify ${domain.name}`);
}

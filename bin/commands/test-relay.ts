import { clean, cleanJson } from '../../cli/output/index.ts';
import { examineRelay, readRelay, type RelayExamination } from '../../src/mail/deliver/index.ts';
import type { Config, RelaySettings } from '../../src/platform/config/index.ts';
import { createResolver } from '../../src/platform/resolver/index.ts';
import { OperatorFault } from '../explain.ts';
import { becomeFolderOwner } from '../installation.ts';
import { dataFolder, readConfig, type DataOptions } from './open.ts';

interface Options extends DataOptions {
  json?: boolean;
}

/** Longer than a slow relay takes to greet. */
const EXAMINATION_MS = 60_000;

/** Connects to a relay and logs in as a delivery would, and prints the dialogue without secrets. */
export async function testRelay(name: string, options: Options): Promise<void> {
  const config = readConfig(options);
  const settings = config.relays[name];
  const hasHost = settings !== undefined && settings.host !== '';
  if (!hasHost) throw unknownRelay(config, name);
  const dataDir = dataFolder(options);
  // Root may read secrets that the account of the service may not.
  becomeFolderOwner(dataDir);
  const examination = await examineConfiguredRelay(config, name, settings, dataDir);
  const { isGood, faults, address, tls, dialogues } = examination;
  if (options.json) {
    console.log(
      cleanJson({
        name,
        is_good: isGood,
        address,
        tls: tls && { version: tls.version, cipher: tls.cipher },
        faults,
        transcript: dialogues.at(-1)?.transcript ?? [],
        dialogues,
      }),
    );
  } else printDialogues(dialogues);
  if (!isGood) throw new OperatorFault(explainFault(name, faults));
  if (!options.json)
    console.log(
      settings.user === ''
        ? `\nThe relay ${name} accepts connections. It is used without a login; the first email shows whether it accepts mail.`
        : `\nThe relay ${name} allows this server to send, logged in as ${clean(settings.user)}.`,
    );
}

function printDialogues(dialogues: RelayExamination['dialogues']): void {
  for (const [index, { address, transcript }] of dialogues.entries()) {
    if (dialogues.length > 1) console.log(`${index === 0 ? '' : '\n'}Connection to ${address}:`);
    for (const line of transcript) console.log(clean(line));
  }
}

/** The examination of a relay by the settings that a server would have. */
export async function examineConfiguredRelay(
  config: Config,
  name: string,
  settings: RelaySettings,
  dataDir: string,
): Promise<RelayExamination> {
  const { servers, timeout_ms: timeoutMs, tries } = config.dns;
  const resolver = createResolver({ servers: [...servers], timeoutMs, tries });
  try {
    return await examineRelay(readRelay(name, settings, dataDir), {
      resolver,
      heloName: config.instance.host,
      openMs: EXAMINATION_MS,
      signal: AbortSignal.timeout(2 * EXAMINATION_MS),
    });
  } finally {
    resolver.close();
  }
}

export const explainFault = (name: string, faults: readonly string[]): string =>
  `the relay ${name} cannot be used: ${faults.map(clean).join('; ')}`;

function unknownRelay({ relays }: Config, name: string): OperatorFault {
  const known = Object.entries(relays).flatMap(([one, { host }]) => (host === '' ? [] : [one]));
  const there = known.length === 0 ? 'there are no relays' : `the relays are ${known.join(', ')}`;
  return new OperatorFault(`the settings have no relay ${name} with a host; ${there}`, 'notFound');
}

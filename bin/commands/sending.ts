import {
  createSendSwitch,
  setSending,
  type SendSwitch,
  type SendSwitchName,
} from '../../src/resources/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, readConfig, withStore, type DataOptions } from './open.ts';

interface SendingOptions extends DataOptions {
  marketing?: boolean;
  reason?: string;
  json?: boolean;
}

/** Shows the switches, or moves one first: a running server sees it at its next send. */
export async function sending(wanted: string | undefined, options: SendingOptions): Promise<void> {
  const { reason, marketing = false } = options;
  const words = `sending${marketing ? ' off --marketing' : ' off'}`;
  if (reason !== undefined && wanted !== 'off') throw new OperatorFault(`--reason goes with: rasket ${words}`);
  const name: SendSwitchName = marketing ? 'sending.marketing' : 'sending';
  const [all, toMany] = await withStore(
    readConfig(options),
    dataFolder(options),
    async (store) => {
      if (wanted !== undefined) await setSending(store, { isOn: wanted === 'on', reason }, name);
      return [await createSendSwitch(store)(), await createSendSwitch(store, 'sending.marketing')()] as const;
    },
    wanted === undefined
      ? {}
      : { audit: { action: `${name}.switched_${wanted}`, ...(reason === undefined ? {} : { details: { reason } }) } },
  );
  if (options.json) {
    const said = {
      sending: wordOf(all),
      reason: all.reason,
      marketing: wordOf(toMany),
      marketing_reason: toMany.reason,
    };
    return console.log(JSON.stringify(said));
  }
  if (!marketing) console.log(sentenceOf('Sending', all));
  if (marketing || !toMany.isOn) console.log(sentenceOf('Marketing mail', toMany));
}

const wordOf = ({ isOn }: SendSwitch): string => (isOn ? 'on' : 'off');

const sentenceOf = (what: string, one: SendSwitch): string =>
  `${what} is ${wordOf(one)}${one.isOn || one.reason === null ? '' : `: ${one.reason}`}.`;

import { cleanJson } from '../../cli/output/index.ts';
import { readCopyMark } from '../../src/platform/installation-mark/index.ts';
import { recogniseCopy } from '../../src/recognise-copy.ts';
import { countRestored, resumeRestored } from '../../src/features/campaigns/index.ts';
import {
  createSendSwitch,
  setSending,
  type SendSwitch,
  type SendSwitchName,
} from '../../src/tenancy/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, readConfig, withStore, type DataOptions } from './open.ts';

interface SendingOptions extends DataOptions {
  marketing?: boolean;
  broadcasts?: boolean;
  reason?: string;
  json?: boolean;
}

/** Shows the switches, or moves one first: a running server sees it at its next send. */
export async function sending(wanted: string | undefined, options: SendingOptions): Promise<void> {
  const { reason, marketing = false, broadcasts = false } = options;
  const words = `sending${marketing ? ' off --marketing' : ' off'}`;
  if (reason !== undefined && wanted !== 'off')
    throw new OperatorFault(`--reason can only be used with: rasket ${words}`);
  if (broadcasts && (wanted !== 'on' || marketing))
    throw new OperatorFault('--broadcasts can only be used with: rasket sending on');
  const name: SendSwitchName = marketing ? 'sending.marketing' : 'sending';
  const [all, toMany, restored] = await withStore(
    readConfig(options),
    dataFolder(options),
    async (store) => {
      // A copy that no server was started on yet would switch sending off again.
      if (readCopyMark(store.dataDir) !== undefined) {
        await recogniseCopy(store);
      }
      if (wanted !== undefined) await setSending(store, { isOn: wanted === 'on', reason }, name);
      if (broadcasts) await resumeRestored(store.db, store.clock.now());
      return [
        await createSendSwitch(store)(),
        await createSendSwitch(store, 'sending.marketing')(),
        await countRestored(store.db),
      ] as const;
    },
    wanted === undefined
      ? {}
      : { audit: { action: `${name}.switched_${wanted}`, ...(reason === undefined ? {} : { details: { reason } }) } },
  );
  if (options.json) {
    const said = {
      sending: formatState(all),
      reason: all.reason,
      marketing: formatState(toMany),
      marketing_reason: toMany.reason,
      restored_broadcasts: restored,
    };
    return console.log(cleanJson(said));
  }
  if (!marketing) console.log(formatSwitch('Sending', all));
  if (marketing || !toMany.isOn) console.log(formatSwitch('Marketing mail', toMany));
  if (!marketing && !toMany.isOn) console.log('Turn it on with: rasket sending on --marketing');
  if (restored > 0) {
    const them = restored === 1 ? '1 broadcast is on hold' : `${restored} broadcasts are on hold`;
    console.log(`${them} since this copy was restored; resume all with: rasket sending on --broadcasts`);
  }
}

const formatState = ({ isOn }: SendSwitch): string => (isOn ? 'on' : 'off');

const formatSwitch = (what: string, one: SendSwitch): string =>
  `${what} is ${formatState(one)}${one.isOn || one.reason === null ? '' : `: ${one.reason}`}.`;

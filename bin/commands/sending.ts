import { createSendSwitch, setSending } from '../../src/resources/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, readConfig, withStore, type DataOptions } from './open.ts';

/** Shows the switch, or moves it first: a running server sees it at its next send. */
export async function sending(
  wanted: string | undefined,
  options: DataOptions & { reason?: string; json?: boolean },
): Promise<void> {
  const { reason } = options;
  if (reason !== undefined && wanted !== 'off') throw new OperatorFault('--reason goes with: rasket sending off');
  const now = await withStore(
    readConfig(options),
    dataFolder(options),
    async (store) => {
      if (wanted !== undefined) await setSending(store, { isOn: wanted === 'on', reason });
      return createSendSwitch(store)();
    },
    wanted === undefined
      ? {}
      : { audit: { action: `sending.switched_${wanted}`, ...(reason === undefined ? {} : { details: { reason } }) } },
  );
  if (options.json) console.log(JSON.stringify({ sending: now.isOn ? 'on' : 'off', reason: now.reason }));
  else console.log(now.isOn ? 'Sending is on.' : `Sending is off${now.reason === null ? '' : `: ${now.reason}`}.`);
}

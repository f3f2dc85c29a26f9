import { ApiFault, createClient } from '../client/index.ts';
import type { Terminal } from '../output/index.ts';
import { tellWaits } from './tell-waits.ts';

/** At the usual address any program may listen: asked without a key or a password, so that no other one is sent any. */
export async function mustSpeakThisApi(url: string, version: string, terminal: Terminal): Promise<void> {
  try {
    await tellWaits(createClient({ url, version }), terminal).call('listEmails', { query: { limit: 1 } });
  } catch (error) {
    // It refuses as this API does.
    if (!(error instanceof ApiFault)) throw error;
  }
}

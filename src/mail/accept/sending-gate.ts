import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';

/** Throws the refusal while the operator has switched sending off. */
export function createSendingGate(world: World): () => Promise<void> {
  const sendSwitch = createSendSwitch(world);
  return async () => {
    const { isOn, reason } = await sendSwitch();
    if (isOn) return;
    const why = reason === null ? '' : ` (${reason})`;
    throw refuse('service_unavailable', {
      say: `Sending is switched off on this installation${why}; try again later.`,
      details: { reason: 'sending_off' },
    });
  };
}

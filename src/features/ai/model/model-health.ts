import type { World } from '../../../platform/world/index.ts';
import { findingOf, type Finding } from '../../operations/findings/index.ts';

const DAY_MS = 86_400_000;

/** How the model stands, as far as this process has asked it. */
export interface ModelHealth {
  noteAnswer(): void;
  /** `say` names no secret: see `model-faults.ts`. */
  noteFailure(say: string): void;
  /** That it fails, since when and with what, until it answers again or has not been asked for a day. */
  findings(): Finding[];
}

export function createModelHealth({ clock, config: { ai } }: Pick<World, 'clock' | 'config'>): ModelHealth {
  let failing: { since: number; at: number; say: string } | undefined;
  return {
    noteAnswer: () => void (failing = undefined),
    noteFailure(say) {
      const at = clock.now();
      failing = { since: failing?.since ?? at, at, say };
    },
    findings() {
      if (failing && clock.now() - failing.at >= DAY_MS) failing = undefined;
      if (!failing) return [];
      const summary = `The model ${ai.model} at ${URL.parse(ai.url)?.host} gives no answer that can be used: ${failing.say}.`;
      return [findingOf('model_failing', { summary, subjects: [ai.model], since: failing.since })];
    },
  };
}

import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 10;

/** Names the files that took longest: where the next minute of the suite can be won. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const timed = modules
      .map((module) => {
        const { duration, collectDuration, prepareDuration, setupDuration } = module.diagnostic();
        return { module, ms: duration + collectDuration + prepareDuration + setupDuration };
      })
      .sort((a, b) => b.ms - a.ms);
    const lines = timed
      .slice(0, SHOWN)
      .map(
        ({ module, ms }) =>
          `${(ms / 1000).toFixed(1).padStart(7)} s  ${module.project.name}  ${module.relativeModuleId}`,
      );
    console.log(`\n The slowest files\n${lines.join('\n')}\n`);
  }
}

/** The thread for large texts (`platform/text-thread/`): which tasks it knows. Each group is loaded when it is first asked for. */
import { serveTextTasks } from './platform/text-thread/index.ts';

serveTextTasks({
  broadcasts: async () => (await import('./resources/broadcasts/index.ts')).textTasks,
});

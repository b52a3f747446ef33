// A CommonJS module whose default export bundlers do not agree about.
import * as module from './node_modules/react-custom-scrollbars-2/lib/index.js';

export const Scrollbars = module.Scrollbars ?? module.default?.Scrollbars ?? module.default;
export default Scrollbars;

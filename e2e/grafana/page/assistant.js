// The button of an app that is not here.
export const OpenAssistantButton = () => null;
export default {};

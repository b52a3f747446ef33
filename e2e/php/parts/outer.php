<?php
function ofFile()
{
    return include PARTS . 'plain.php';
}

return ofFile();
